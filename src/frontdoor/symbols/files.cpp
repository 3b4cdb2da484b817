// files.cpp: opening, viewing, asking, closing.
#include "frontdoor/collective.hpp"
#include "frontdoor/opening.hpp"
#include "frontdoor/view.hpp"
#include "symbols/both.hpp"

BOTH(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),
     choir::open_file(comm, name, mode, info, file))
BOTH(File_close, (MPI_File * file), choir::close_file(file))
BOTH(File_set_view,
     (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
      const char* representation, MPI_Info info),
     choir::set_view(file, displacement, etype, filetype, representation, info))
BOTH(File_set_info, (MPI_File file, MPI_Info info), choir::set_info(file, info))
BOTH(File_get_info, (MPI_File file, MPI_Info* info), choir::get_info(file, info))
BOTH(File_get_position, (MPI_File file, MPI_Offset* offset),
     choir::individual_pointer(choir::OpenFiles::instance().find(file), file, offset))
BOTH(File_seek, (MPI_File file, MPI_Offset offset, int whence), choir::seek(file, offset, whence))
BOTH(File_set_size, (MPI_File file, MPI_Offset size), choir::set_size(file, size))
BOTH(File_sync, (MPI_File file), choir::sync_file(file))
BOTH(File_set_atomicity, (MPI_File file, int flag), choir::set_atomicity(file, flag))
