! choir_mcio_f08.f90: multi-collective I/O for `use mpi_f08`: one collective call over many files.
!
! As choir_mcio.f90, with the handle and status types of mpi_f08.
module choir_mcio_f08
  implicit none
  private
  public :: mcio_file_read_all, &
            mcio_file_read_at_all, &
            mcio_file_iread_all, &
            mcio_file_iread_at_all, &
            mcio_file_write_all, &
            mcio_file_write_at_all, &
            mcio_file_iwrite_all, &
            mcio_file_iwrite_at_all

  interface
    subroutine mcio_file_read_all(files, file_count, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_f08_read_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Status
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Status) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_read_all

    subroutine mcio_file_read_at_all(files, file_count, offsets, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_f08_read_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Status
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Status) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_read_at_all

    subroutine mcio_file_iread_all(files, file_count, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_f08_iread_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Request
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Request), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iread_all

    subroutine mcio_file_iread_at_all(files, file_count, offsets, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_f08_iread_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Request
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Request), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iread_at_all

    subroutine mcio_file_write_all(files, file_count, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_f08_write_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Status
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Status) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_write_all

    subroutine mcio_file_write_at_all(files, file_count, offsets, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_f08_write_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Status
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Status) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_write_at_all

    subroutine mcio_file_iwrite_all(files, file_count, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_f08_iwrite_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Request
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Request), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iwrite_all

    subroutine mcio_file_iwrite_at_all(files, file_count, offsets, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_f08_iwrite_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      use mpi_f08, only: MPI_File, MPI_Datatype, MPI_Request
      implicit none
      type(MPI_File), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      type(MPI_Datatype), intent(in) :: types(*)
      type(MPI_Request), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iwrite_at_all
  end interface
end module choir_mcio_f08
