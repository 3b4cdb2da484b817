! fortran_mpif.f90: collective I/O through mpif.h.
program fortran_app
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 400
  integer :: rank, ranks, ierror, i, count, neighbour
  integer :: mine(n), found(n)
  integer(MPI_OFFSET_KIND) :: displacement, offset, position
  integer :: fh, filetype, request, status(MPI_STATUS_SIZE)
  character(1024) :: path
  include 'fortran_body.inc'
end program
