// embedded.cpp: takes the files in at assembly time; CHART_JS and PAGE_FOLDER come from CMake.
#include "embedded.hpp"

// Between two labels, so that the size needs no second source of truth.
#define EMBED(name, path)                                      \
  asm(".pushsection .rodata\n"                                 \
      ".global choir_embedded_" #name                          \
      "\n"                                                     \
      ".hidden choir_embedded_" #name                          \
      "\n"                                                     \
      "choir_embedded_" #name ":\n.incbin \"" path             \
      "\"\n"                                                   \
      ".global choir_embedded_end_" #name                      \
      "\n"                                                     \
      ".hidden choir_embedded_end_" #name                      \
      "\n"                                                     \
      "choir_embedded_end_" #name                              \
      ":\n.byte 0\n"                                           \
      ".popsection\n");                                        \
  extern "C" const char choir_embedded_##name[];               \
  extern "C" const char choir_embedded_end_##name[];           \
  namespace choir::report {                                    \
  std::string_view embedded_##name() {                         \
    return {choir_embedded_##name, choir_embedded_end_##name}; \
  }                                                            \
  }

EMBED(chart_js, CHART_JS)
EMBED(page_html, PAGE_FOLDER "/page.html")
EMBED(page_css, PAGE_FOLDER "/page.css")
EMBED(page_js, PAGE_FOLDER "/page.js")
