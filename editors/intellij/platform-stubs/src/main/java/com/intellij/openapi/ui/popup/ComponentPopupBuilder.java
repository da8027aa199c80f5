package com.intellij.openapi.ui.popup;

import com.intellij.openapi.project.Project;

public interface ComponentPopupBuilder {
    ComponentPopupBuilder setTitle(String title);

    ComponentPopupBuilder setResizable(boolean forceResizable);

    ComponentPopupBuilder setMovable(boolean forceMovable);

    ComponentPopupBuilder setCancelOnClickOutside(boolean cancel);

    ComponentPopupBuilder setCancelOnWindowDeactivation(boolean cancelOnWindowDeactivation);

    ComponentPopupBuilder setRequestFocus(boolean requestFocus);

    ComponentPopupBuilder setDimensionServiceKey(Project project, String key, boolean useForXYLocation);

    JBPopup createPopup();
}
