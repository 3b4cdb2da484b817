! mcio_fortran_test.f90: the modules choir_mcio and choir_mcio_f08 on a few files.
!
! usage: mcio_fortran_test FOLDER
module with_integer_handles
  use mpi
  use choir_mcio
  use, intrinsic :: iso_c_binding
  implicit none
contains
  integer function failures_with_integers(folder) result(failures)
    character(len=*), intent(in) :: folder
    integer, parameter :: n = 3, length = 700
    integer :: files(n), types(n), counts(n), requests(n), statuses(MPI_STATUS_SIZE, n)
    integer, target :: values(length, n), found(length, n)
    integer(c_int64_t) :: offsets(n)
    type(c_ptr) :: sources(n), targets(n)
    integer :: f, i, rank, ierror, got
    character(len=1) :: digit
    failures = 0
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    do f = 1, n
      write (digit, '(i1)') f
      call MPI_File_open(MPI_COMM_WORLD, folder // '/mcio-fortran-' // digit, &
          MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, files(f), ierror)
      types(f) = MPI_INTEGER
      counts(f) = length
      if (f == 2 .and. rank == 0) counts(f) = 0
      offsets(f) = int(rank, c_int64_t) * length * 4
      values(:, f) = [(f * 100000 + rank * 1000 + i, i = 1, length)]
      sources(f) = c_loc(values(1, f))
      targets(f) = c_loc(found(1, f))
    end do
    found = -1
    call mcio_file_write_at_all(files, n, offsets, sources, counts, types, statuses, ierror)
    if (ierror /= MPI_SUCCESS) failures = failures + 1
    do f = 1, n
      call MPI_Get_count(statuses(:, f), MPI_INTEGER, got, ierror)
      if (got /= counts(f)) failures = failures + 1
    end do
    call mcio_file_iread_at_all(files, n, offsets, targets, counts, types, requests, ierror)
    call MPI_Waitall(n, requests, MPI_STATUSES_IGNORE, ierror)
    if (ierror /= MPI_SUCCESS) failures = failures + 1
    do f = 1, n
      if (any(found(1:counts(f), f) /= values(1:counts(f), f))) failures = failures + 1
    end do
    found = -1
    call mcio_file_read_at_all(files, n, offsets, targets, counts, types, MPI_STATUSES_IGNORE, ierror)
    if (ierror /= MPI_SUCCESS .or. any(found(:, 3) /= values(:, 3))) failures = failures + 1
    do f = 1, n
      call MPI_File_close(files(f), ierror)
    end do
  end function failures_with_integers
end module with_integer_handles

module with_f08_handles
  use mpi_f08
  use choir_mcio_f08
  use, intrinsic :: iso_c_binding
  implicit none
contains
  integer function failures_with_f08(folder) result(failures)
    character(len=*), intent(in) :: folder
    integer, parameter :: n = 2, length = 500
    type(MPI_File) :: files(n)
    type(MPI_Datatype) :: types(n)
    type(MPI_Request) :: requests(n)
    type(MPI_Status) :: statuses(n)
    integer :: counts(n), f, rank, got, ierror
    double precision, target :: values(length, n), found(length, n)
    type(c_ptr) :: sources(n), targets(n)
    character(len=1) :: digit
    failures = 0
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    do f = 1, n
      write (digit, '(i1)') f
      call MPI_File_open(MPI_COMM_WORLD, folder // '/mcio-f08-' // digit, &
          MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, files(f))
      call MPI_File_seek(files(f), int(rank, MPI_OFFSET_KIND) * length * 8, MPI_SEEK_SET)
      types(f) = MPI_DOUBLE_PRECISION
      counts(f) = length
      values(:, f) = f + 0.5d0 * rank
      sources(f) = c_loc(values(1, f))
      targets(f) = c_loc(found(1, f))
    end do
    found = -1
    call mcio_file_iwrite_all(files, n, sources, counts, types, requests, ierror)
    call MPI_Waitall(n, requests, MPI_STATUSES_IGNORE)
    if (ierror /= MPI_SUCCESS) failures = failures + 1
    do f = 1, n
      call MPI_File_seek(files(f), int(rank, MPI_OFFSET_KIND) * length * 8, MPI_SEEK_SET)
    end do
    call mcio_file_read_all(files, n, targets, counts, types, statuses, ierror)
    if (ierror /= MPI_SUCCESS .or. any(found /= values)) failures = failures + 1
    do f = 1, n
      call MPI_Get_count(statuses(f), MPI_DOUBLE_PRECISION, got)
      if (got /= length) failures = failures + 1
      call MPI_File_close(files(f))
    end do
  end function failures_with_f08
end module with_f08_handles

program mcio_fortran_test
  use mpi_f08
  use with_integer_handles, only: failures_with_integers
  use with_f08_handles, only: failures_with_f08
  implicit none
  character(len=500) :: folder
  integer :: failures, all_failures
  call MPI_Init()
  call get_command_argument(1, folder)
  failures = failures_with_integers(trim(folder)) + failures_with_f08(trim(folder))
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all_failures /= 0) error stop 'FAIL mcio_fortran_test'
end program mcio_fortran_test
