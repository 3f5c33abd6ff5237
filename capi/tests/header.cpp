// The header is C++ too, and its structures are those of C.
#include "tensorgate.h"

#include <type_traits>

static_assert(std::is_standard_layout<tg_input>::value && std::is_trivial<tg_tensor>::value, "plain structures");

int main() {
    return tg_abi_version() == TG_ABI_VERSION ? 0 : 1;
}
