package com.intellij.openapi.wm;

import com.intellij.ui.content.ContentManager;

public interface ToolWindow {
    void activate(Runnable runnable);

    ContentManager getContentManager();
}
