package carrel.ide;

import carrel.panel.SearchPanel;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.ui.popup.JBPopup;
import com.intellij.openapi.ui.popup.JBPopupFactory;
import java.util.concurrent.atomic.AtomicReference;

/** A popup that finds code by words, a question or a name, and opens the place that is chosen. */
public final class SearchAction extends ProjectAction {
    @Override
    void perform(Project project, CarrelProject carrel, String folder) {
        var shown = new AtomicReference<JBPopup>();
        var places = new IdePanelHost(project);
        var panel = new SearchPanel(carrel.memory(), folder, (uri, line) -> {
            shown.get().cancel();
            places.open(uri, line);
        });
        var popup = JBPopupFactory.getInstance()
                .createComponentPopupBuilder(panel, panel.focus())
                .setTitle("Carrel: Search")
                .setResizable(true)
                .setMovable(true)
                .setRequestFocus(true)
                .setDimensionServiceKey(project, "carrel.search", false)
                .createPopup();
        shown.set(popup);
        popup.showCenteredInCurrentWindow(project);
    }
}
