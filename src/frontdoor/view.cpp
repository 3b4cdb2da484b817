#include "frontdoor/view.hpp"

#include <strings.h>

#include <algorithm>
#include <cctype>

#include "access/datatype.hpp"
#include "frontdoor/agree.hpp"
#include "frontdoor/collective.hpp"
#include "frontdoor/recording.hpp"
#include "mpi/real.hpp"
#include "select/signature.hpp"

namespace choir {
namespace {

/// What the engine needs to know of the view the host MPI has just accepted. (A displacement that
/// only the host knows, MPI_DISPLACEMENT_CURRENT, is for sequential files, which it serves alone.)
View view_in_force(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                   const char* representation) {
  View view;
  MPI_Count bytes = 1;
  if (etype != MPI_BYTE) check(PMPI_Type_size_x(etype, &bytes));
  auto tile = tile_of(filetype);
  view.tile_step = tile->extent();
  if (tile->ascending_once() && !tile->ascending()) tile = tile->moved_apart();
  view.layout = {std::move(tile), displacement};
  view.etype_bytes = bytes;
  if (strcasecmp(representation, "native") != 0)
    view.left = trace::Left::representation;
  else if (bytes == 0 || view.layout.tile->bytes() == 0)
    view.left = trace::Left::empty_view;
  else if (!view.layout.tile->ascending() || displacement + view.layout.tile->span().begin < 0)
    view.left = trace::Left::backwards;
  return view;
}

/// What the host MPI would refuse on one rank while it waits for the others on theirs.
int error_in_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* representation) {
  if (displacement < 0) return MPI_ERR_ARG;
  if (etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  if (representation == nullptr) return MPI_ERR_ARG;
  return MPI_SUCCESS;
}

/// Representations have to be the same on all ranks; some may be the program's own.
std::int64_t number_of(const char* representation) {
  select::Signature number;
  for (const char* c = representation; c != nullptr && *c != '\0'; ++c)
    number.add(std::tolower(static_cast<unsigned char>(*c)));
  return static_cast<std::int64_t>(number.value() >> 1);
}

/// What all ranks are about to hand to the host MPI.
struct Proposal {
  int error = MPI_SUCCESS;     ///< every rank returns it before the host MPI is asked
  int expected = MPI_SUCCESS;  ///< all ranks ask for what the host refuses: it has the better words
};

/// Collective.
Proposal agreed_proposal(File& engine, MPI_Offset displacement, MPI_Datatype etype,
                         MPI_Datatype filetype, const char* representation) {
  constexpr std::int64_t refused = -1, unspeakable = -2;  // others are representations
  const int error = error_in_view(displacement, etype, filetype, representation);
  const auto mine = representation == nullptr ? unspeakable
                    : error != MPI_SUCCESS    ? refused
                                              : number_of(representation);
  const auto agreed = agree(engine, error, mine);
  if (agreed.least == refused && agreed.most == refused) return {MPI_SUCCESS, agreed.worst};
  if (agreed.worst != MPI_SUCCESS) return {agreed.worst};
  return {agreed.least == agreed.most ? MPI_SUCCESS : MPI_ERR_NOT_SAME};
}

}  // namespace

int set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info) {
  OpenFile* file = OpenFiles::instance().find(handle);
  if (file == nullptr)
    return REAL(File_set_view)(handle, displacement, etype, filetype, representation, info);
  const auto proposal =
      agreed_proposal(*file->engine, displacement, etype, filetype, representation);
  if (proposal.error != MPI_SUCCESS) return raise(handle, proposal.error);
  const int code = REAL(File_set_view)(handle, displacement, etype, filetype, representation, info);
  if (proposal.expected != MPI_SUCCESS)
    return code != MPI_SUCCESS ? code : raise(handle, proposal.expected);
  View view;
  try {
    if (code == MPI_SUCCESS) view = view_in_force(displacement, etype, filetype, representation);
  } catch (const MpiError&) {
    view.left = trace::Left::backwards;
  }
  // Ranks may have different filetypes. One that cannot be served needs the host MPI on all ranks,
  // and a view that the host refused on one rank is an error on all.
  const bool mine_failed = code != MPI_SUCCESS;
  const auto agreed = agree(*file->engine, mine_failed ? class_of(code) : MPI_SUCCESS,
                            static_cast<std::int64_t>(view.left));
  view.left = static_cast<trace::Left>(agreed.most);
  if (agreed.worst != 0) return mine_failed ? code : raise(handle, agreed.worst);
  file->view = view;
  file->pointer_known = false;
  record_view(*file);
  return code;
}

std::optional<Access> access_in(const View& view, std::int64_t begin, std::int64_t end) {
  const auto& tile = *view.layout.tile;
  Access access{view.layout, begin, end};
  if (view.tile_step == tile.extent()) return access;
  const auto number = begin / tile.bytes();
  access.file.origin += number * view.tile_step;
  if ((end > begin && (end - 1) / tile.bytes() != number) ||
      access.file.origin + tile.span().begin < 0)
    return std::nullopt;
  access.begin -= number * tile.bytes();
  access.end -= number * tile.bytes();
  return access;
}

}  // namespace choir
