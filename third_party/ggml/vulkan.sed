# What third_party/setup changes in a copy of ggml-vulkan.cpp; vulkan_compat.hpp has the function.
#
# Mesa 22.3's software device (Debian 12) counts the users of every buffer in a descriptor set, also of those
# that the shader at hand does not have. ggml leaves there what an earlier shader had, as Vulkan allows. Where
# that buffer is gone, the driver writes to freed memory. So each set is filled to its end.
s/pipeline->parameter_count, \(vk::DescriptorType::eStorageBuffer, nullptr\), descriptor_buffer_infos.begin()/MAX_PARAMETER_COUNT, \1, fgsf_filled<MAX_PARAMETER_COUNT>(descriptor_buffer_infos)/
