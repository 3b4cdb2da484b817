! choir_mcio.f90: multi-collective I/O for `use mpi` and mpif.h: one collective call over many files.
!
! choir/mcio.h says what the calls do. Interfaces only: link with -lchoir. A buffer is given by its
! address, c_loc(values) of a target variable. statuses may be MPI_STATUSES_IGNORE.
module choir_mcio
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
        bind(C, name='choir_mcio_read_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_read_all

    subroutine mcio_file_read_at_all(files, file_count, offsets, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_read_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_read_at_all

    subroutine mcio_file_iread_all(files, file_count, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_iread_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iread_all

    subroutine mcio_file_iread_at_all(files, file_count, offsets, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_iread_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iread_at_all

    subroutine mcio_file_write_all(files, file_count, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_write_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_write_all

    subroutine mcio_file_write_at_all(files, file_count, offsets, buffers, counts, types, statuses, ierror) &
        bind(C, name='choir_mcio_write_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int) :: statuses(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_write_at_all

    subroutine mcio_file_iwrite_all(files, file_count, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_iwrite_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iwrite_all

    subroutine mcio_file_iwrite_at_all(files, file_count, offsets, buffers, counts, types, requests, ierror) &
        bind(C, name='choir_mcio_iwrite_at_all')
      use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_int64_t
      implicit none
      integer(c_int), intent(in) :: files(*)
      integer(c_int), value :: file_count
      integer(c_int64_t), intent(in) :: offsets(*)
      type(c_ptr), intent(in) :: buffers(*)
      integer(c_int), intent(in) :: counts(*)
      integer(c_int), intent(in) :: types(*)
      integer(c_int), intent(out) :: requests(*)
      integer(c_int), intent(out) :: ierror
    end subroutine mcio_file_iwrite_at_all
  end interface
end module choir_mcio
