"""h5py_app.py FILE: parallel HDF5 from Python with collective transfers, read back by other ranks."""
import sys

import numpy
from mpi4py import MPI

import h5py

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
ROWS, COLUMNS = 30, 14
whole = numpy.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS)

with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as file:
    plain = file.create_dataset("plain", (ROWS, COLUMNS), dtype="f8", track_times=False)
    chunked = file.create_dataset("chunked", (ROWS, COLUMNS), dtype="f8", chunks=(4, 5), track_times=False)
    first, last = ROWS * rank // ranks, ROWS * (rank + 1) // ranks
    with plain.collective:
        plain[rank::ranks, :] = whole[rank::ranks, :]
    with chunked.collective:
        chunked[first:last, :] = whole[first:last, :]

with h5py.File(sys.argv[1], "r", driver="mpio", comm=comm) as file:
    for name in ("plain", "chunked"):
        data = file[name]
        columns = numpy.s_[:, rank % COLUMNS :: 3]
        part = numpy.empty(whole[columns].shape)
        with data.collective:
            data.read_direct(part, columns)  # part = data[...] would read independently
        if not (part == whole[:, rank % COLUMNS :: 3]).all():
            print(f"h5py_app: rank {rank}: {name} differs", file=sys.stderr)
            comm.Abort(1)
if rank == 0:
    print("h5py_app: all values read back")
