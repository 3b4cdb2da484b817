# choir_left_out(WHAT WHY): notes a part that cannot be built here. All of them are told at the end, where they are seen.
function(choir_left_out what why)
  set_property(GLOBAL APPEND PROPERTY CHOIR_LEFT_OUT "${what} (${why})")
endfunction()

function(choir_tell_left_out)
  get_property(parts GLOBAL PROPERTY CHOIR_LEFT_OUT)
  list(REMOVE_DUPLICATES parts)
  foreach(part IN LISTS parts)
    message(STATUS "choir: left out: ${part}")
  endforeach()
endfunction()
