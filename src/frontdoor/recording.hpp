// recording.hpp: CHOIR_RECORD: who neighbours whom in the files, gathered on rank 0 for `choir
// place`.
//
// Ranks are those of the job, so that files of different communicators add up.
// Collective over the file's ranks, and blocking: a recording run is not a production run.
#pragma once

#include "engine/call.hpp"
#include "frontdoor/open_file.hpp"

namespace choir {

void record_view(OpenFile& file);
void record_call(OpenFile& file, const Access& access);
/// The ranks that were rank 0 of a file write what was recorded. Local; before MPI_Finalize.
void finish_recording();

}  // namespace choir
