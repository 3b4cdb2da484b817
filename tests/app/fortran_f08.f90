! fortran_f08.f90: collective I/O through use mpi_f08.
program fortran_app
  use mpi_f08
  implicit none
  integer, parameter :: n = 400
  integer :: rank, ranks, ierror, i, count, neighbour
  integer :: mine(n), found(n)
  integer(MPI_OFFSET_KIND) :: displacement, offset, position
  type(MPI_File) :: fh
  type(MPI_Datatype) :: filetype
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  character(1024) :: path
  include 'fortran_body.inc'
end program
