// multi.cpp: what libchoir.so finds by name.
#include "frontdoor/multi.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void choir_multi_run_1(int writing, int count, const choir_multi_part* parts,
                                MPI_Status* statuses, int* errors) {
  choir::multi_run(writing != 0 ? choir::Operation::write : choir::Operation::read, count, parts,
                   statuses, errors);
}

EXPORTED void choir_multi_start_1(int writing, int count, const choir_multi_part* parts,
                                  MPI_Request* requests, int* errors) {
  choir::multi_start(writing != 0 ? choir::Operation::write : choir::Operation::read, count, parts,
                     requests, errors);
}
