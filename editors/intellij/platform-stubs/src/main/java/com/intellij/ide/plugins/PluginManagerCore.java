package com.intellij.ide.plugins;

import com.intellij.openapi.extensions.PluginId;

public final class PluginManagerCore {
    private PluginManagerCore() {}

    public static IdeaPluginDescriptor getPlugin(PluginId id) {
        throw new UnsupportedOperationException();
    }
}
