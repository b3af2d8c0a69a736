// What ggml's Vulkan backend needs on Debian 12. third_party/setup includes this before each C++ file when
// it builds ggml with Vulkan.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

// A list of descriptors, filled up to N with the first of them; good until the next call. vulkan.sed says why.
template <std::size_t N, typename T> const T *fgsf_filled(const std::initializer_list<T> &list) {
    static thread_local std::array<T, N> all;
    all.fill(*list.begin());
    std::copy(list.begin(), list.end(), all.begin());
    return all.data();
}

#if __has_include(<vulkan/vulkan_core.h>)
#include <vulkan/vulkan_core.h>

// VK_EXT_layer_settings, for Vulkan headers older than 1.3.272. The backend fills these structures in always
// but uses them only in builds with validation layers, which the pinned one is not: a driver that does not
// know the structure skips it in the chain.
#ifndef VK_EXT_layer_settings

#include <cstdint>
#include <vector>

namespace vk {

enum class LayerSettingTypeEXT : std::int32_t { eBool32 = 0 };

struct LayerSettingEXT {
    const char *pLayerName;
    const char *pSettingName;
    LayerSettingTypeEXT type;
    std::uint32_t valueCount;
    const void *pValues;
};

struct LayerSettingsCreateInfoEXT {
    explicit LayerSettingsCreateInfoEXT(const std::vector<LayerSettingEXT> &settings)
        : settingCount(static_cast<std::uint32_t>(settings.size())), pSettings(settings.data()) {}

    VkStructureType sType = static_cast<VkStructureType>(1000496000);
    const void *pNext = nullptr;
    std::uint32_t settingCount;
    const LayerSettingEXT *pSettings;
};

} // namespace vk

#endif
#endif
