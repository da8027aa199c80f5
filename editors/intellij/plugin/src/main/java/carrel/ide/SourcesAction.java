package carrel.ide;

import carrel.panel.SourcesPanel;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.ui.popup.JBPopupFactory;

/** What is searched beside the project, and which models are set. It stays open while a dialog asks for a permission. */
public final class SourcesAction extends ProjectAction {
    @Override
    void perform(Project project, CarrelProject carrel, String folder) {
        var panel = new SourcesPanel(carrel.memory(), folder);
        JBPopupFactory.getInstance()
                .createComponentPopupBuilder(panel, panel.focus())
                .setTitle("Carrel: Sources and Models")
                .setResizable(true)
                .setMovable(true)
                .setRequestFocus(true)
                .setCancelOnClickOutside(false)
                .setCancelOnWindowDeactivation(false)
                .setDimensionServiceKey(project, "carrel.sources", false)
                .createPopup()
                .showCenteredInCurrentWindow(project);
    }
}
