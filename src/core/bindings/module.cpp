// The module of one level of the instruction set; the build names the level.
#include "bindings/bindings.hpp"

NB_MODULE(GAPLESS_LEVEL, m) { gapless::define_all(m); }
