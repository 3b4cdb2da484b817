! fortran_requests_f08.f90: nonblocking collective I/O through use mpi_f08.
program fortran_requests
  use mpi_f08
  implicit none
  integer, parameter :: n = 400
  integer :: rank, ranks, ierror, i, count, neighbour, token
  integer, asynchronous :: mine(n), theirs(n), found(n), other(n)
  integer(MPI_OFFSET_KIND) :: displacement, offset
  logical :: flag
  type(MPI_File) :: fh
  type(MPI_Request) :: requests(3)
  type(MPI_Status) :: status
  character(1024) :: path
  include 'fortran_requests.inc'
end program
