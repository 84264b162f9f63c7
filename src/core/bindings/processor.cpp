// A module that only reports which level of the instruction set this processor has, so that the
// core compiled for it is loaded, and none that it cannot run.
#include <Python.h>

#if defined(__x86_64__)
#include <cpuid.h>

namespace {

// __builtin_cpu_supports reports features only if the operating system saves their registers. It
// has no names for those of a level that need no registers of their own.
bool has(unsigned leaf, unsigned bit) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(leaf, &a, &b, &c, &d) && (c >> bit & 1);
}

// Levels as in the x86-64 psABI, "Micro-Architecture Levels".
const char* level() {
    __builtin_cpu_init();
    constexpr unsigned features = 1, extended = 0x80000001;
    constexpr unsigned movbe = 22, f16c = 29, lzcnt = 5;
    if (!__builtin_cpu_supports("ssse3") || !__builtin_cpu_supports("sse4.2") ||
        !__builtin_cpu_supports("popcnt"))
        return "v1";
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !has(features, movbe) || !has(features, f16c) || !has(extended, lzcnt))
        return "v2";
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return "v3";
    return "v4";
}

}  // namespace

#else

namespace {
const char* level() { return "base"; }
}  // namespace

#endif

PyMODINIT_FUNC PyInit_processor() {
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                     "processor",
                                     "What this processor can run.",
                                     0,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};
    PyObject* module = PyModule_Create(&definition);
    if (module && PyModule_AddStringConstant(module, "level", level()) < 0) Py_CLEAR(module);
    return module;
}
