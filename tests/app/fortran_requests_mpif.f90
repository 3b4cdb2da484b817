! fortran_requests_mpif.f90: nonblocking collective I/O through mpif.h.
program fortran_requests
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 400
  integer :: rank, ranks, ierror, i, count, neighbour, token
  integer, asynchronous :: mine(n), theirs(n), found(n), other(n)
  integer(MPI_OFFSET_KIND) :: displacement, offset
  logical :: flag
  integer :: fh, requests(3), status(MPI_STATUS_SIZE)
  character(1024) :: path
  include 'fortran_requests.inc'
end program
