package carrel.ide;

import carrel.panel.MemoryPanel;
import com.intellij.openapi.project.DumbAware;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.wm.ToolWindow;
import com.intellij.openapi.wm.ToolWindowFactory;
import com.intellij.ui.content.ContentFactory;

/** The Memory panel in a tool window. */
public final class MemoryToolWindow implements ToolWindowFactory, DumbAware {
    /** As in plugin.xml. */
    static final String ID = "Carrel Memory";

    @Override
    public void createToolWindowContent(Project project, ToolWindow window) {
        var carrel = CarrelProject.of(project);
        var panel = new MemoryPanel(carrel.memory(), carrel.choices(), new IdePanelHost(project));
        window.getContentManager().addContent(ContentFactory.getInstance().createContent(panel, "", false));
        if (carrel.isRunning()) {
            panel.refresh();
        }
    }
}
