"""mpi4py_app.py FILE: collective I/O from Python: views, explicit offsets, nonblocking, split, read back."""
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
BLOCKS, LENGTH = 50, 8


def values(of_rank):
    return array("i", [of_rank * 1000000 + i for i in range(BLOCKS * LENGTH)])


def expect(found, wanted, what):
    if found != wanted:
        print(f"mpi4py_app: rank {rank}: {what} differs", file=sys.stderr)
        comm.Abort(1)


file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
interleaved = MPI.INT.Create_vector(BLOCKS, LENGTH, LENGTH * ranks)
interleaved.Commit()
file.Set_view(rank * LENGTH * 4, MPI.INT, interleaved)
status = MPI.Status()
file.Write_all(values(rank), status)
expect(status.Get_count(MPI.INT), BLOCKS * LENGTH, "count written")
expect(file.Get_position(), BLOCKS * LENGTH, "file pointer")
found = array("i", [0]) * (BLOCKS * LENGTH)
file.Read_at_all(0, found, status)
expect(found, values(rank), "what was written through the view")

file.Sync()
comm.Barrier()
file.Sync()
tail = BLOCKS * LENGTH * ranks * 4
file.Set_view(0, MPI.INT, MPI.INT)
request = file.Iwrite_at_all(tail // 4 + rank * BLOCKS * LENGTH, values(rank))
request.Wait(status)
file.Sync()
comm.Barrier()
file.Sync()
neighbour = (rank + 1) % ranks
file.Read_at_all_begin(tail // 4 + neighbour * BLOCKS * LENGTH, found)
file.Read_at_all_end(found, status)
expect(found, values(neighbour), "the neighbour's block")
expect(status.Get_count(MPI.INT), BLOCKS * LENGTH, "count read")
interleaved.Free()
file.Close()
if rank == 0:
    print("mpi4py_app: all values read back")
