#include <nanobind/nanobind.h>

#include "loops.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled loops of gapless: arrays in, arrays out.";
    m.def("version", [] { return 1; });
}
