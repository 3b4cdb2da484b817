! fortran_usempi.f90: collective I/O through use mpi.
program fortran_app
  use mpi
  implicit none
  integer, parameter :: n = 400
  integer :: rank, ranks, ierror, i, count, neighbour
  integer :: mine(n), found(n)
  integer(MPI_OFFSET_KIND) :: displacement, offset, position
  integer :: fh, filetype, request, status(MPI_STATUS_SIZE)
  character(1024) :: path
  include 'fortran_body.inc'
end program
