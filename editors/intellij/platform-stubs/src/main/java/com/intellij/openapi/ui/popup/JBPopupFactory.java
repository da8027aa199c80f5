package com.intellij.openapi.ui.popup;

import javax.swing.JComponent;

public abstract class JBPopupFactory {
    public static JBPopupFactory getInstance() {
        throw new UnsupportedOperationException();
    }

    public abstract ComponentPopupBuilder createComponentPopupBuilder(JComponent content, JComponent preferableFocusComponent);
}
