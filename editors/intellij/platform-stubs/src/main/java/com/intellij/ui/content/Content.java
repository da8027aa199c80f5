package com.intellij.ui.content;

import javax.swing.JComponent;

public interface Content {
    void setPreferredFocusableComponent(JComponent component);
}
