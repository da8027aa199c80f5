package carrel.panel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.Eventually;
import com.formdev.flatlaf.FlatLightLaf;
import java.awt.Component;
import java.awt.Container;
import java.awt.Dimension;
import java.awt.GraphicsEnvironment;
import java.awt.Point;
import java.awt.Robot;
import java.awt.event.ActionListener;
import java.awt.event.InputEvent;
import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import javax.imageio.ImageIO;
import javax.swing.AbstractButton;
import javax.swing.JComponent;
import javax.swing.JFrame;
import javax.swing.JTree;
import javax.swing.SwingUtilities;

/** A panel in a real window, and a person in front of it. */
final class Screen implements AutoCloseable {
    private static final int CLICKS = 3;
    private static final int CLICK_MS = 3_000;

    private final JFrame window;
    private final Robot robot;

    Screen(Callable<JComponent> panel, int width, int height) throws Exception {
        assertFalse(GraphicsEnvironment.isHeadless(), "these tests need a display: xvfb-run -a mvn verify");
        robot = new Robot();
        window = onEdt(() -> {
            FlatLightLaf.setup();
            var frame = new JFrame("Carrel");
            frame.setContentPane(panel.call());
            frame.getContentPane().setPreferredSize(new Dimension(width, height));
            frame.setUndecorated(true);
            frame.pack();
            frame.setVisible(true);
            return frame;
        });
        robot.waitForIdle();
    }

    /** The component of that name. */
    <T extends Component> T find(Class<T> type, String name) {
        var found = search(window.getContentPane(), name);
        if (found == null) {
            throw new AssertionError("nothing is named " + name);
        }
        return type.cast(found);
    }

    /**
     * Press and release the mouse on a button, as a person does: once it takes clicks and stays where it is, and again where nothing
     * came of it: a window sometimes loses a click, such as that on a button which is switched off between the two.
     */
    void click(String name) throws Exception {
        var button = find(AbstractButton.class, name);
        var taken = new CountDownLatch(1);
        ActionListener heard = event -> taken.countDown();
        onEdt(() -> {
            button.addActionListener(heard);
            return null;
        });
        for (int tries = 0; taken.getCount() > 0; tries++) {
            assertTrue(tries < CLICKS, () -> name + " takes no click");
            press(button);
            taken.await(CLICK_MS, TimeUnit.MILLISECONDS);
        }
        onEdt(() -> {
            button.removeActionListener(heard);
            return null;
        });
        robot.waitForIdle();
    }

    private void press(Component target) {
        Callable<Point> place = () -> {
            var corner = target.getLocationOnScreen();
            corner.translate(Math.min(12, target.getWidth() / 2), target.getHeight() / 2);
            return corner;
        };
        shows(() -> target.isShowing() && target.isEnabled(), takes -> takes);
        var middle = shows(place, seen -> {
            robot.waitForIdle();
            return seen.equals(onEdt(place));
        });
        robot.mouseMove(middle.x, middle.y);
        robot.mousePress(InputEvent.BUTTON1_DOWN_MASK);
        robot.mouseRelease(InputEvent.BUTTON1_DOWN_MASK);
        robot.waitForIdle();
    }

    /** What a component shows, as soon as it is as wanted. */
    <T> T shows(Callable<T> value, Predicate<T> wanted) {
        return Eventually.eventually(() -> onEdt(value), wanted);
    }

    /** Draw the window into a picture below {@code target}. */
    void picture(String name) throws IOException {
        robot.waitForIdle();
        var image = onEdt(() -> {
            var content = window.getContentPane();
            var drawn = new BufferedImage(content.getWidth(), content.getHeight(), BufferedImage.TYPE_INT_RGB);
            content.paint(drawn.getGraphics());
            return drawn;
        });
        ImageIO.write(image, "png", new File(System.getProperty("carrel.output"), name + ".png"));
    }

    @Override
    public void close() {
        onEdt(() -> {
            window.dispose();
            return null;
        });
    }

    static <T> T onEdt(Callable<T> work) {
        var task = new FutureTask<>(work);
        try {
            SwingUtilities.invokeAndWait(task);
            return task.get();
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    /** The texts of the rows that a tree shows. */
    static List<String> rows(JTree tree) {
        var rows = new ArrayList<String>();
        for (int i = 0; i < tree.getRowCount(); i++) {
            rows.add(tree.getPathForRow(i).getLastPathComponent().toString());
        }
        return rows;
    }

    private static Component search(Container container, String name) {
        for (Component component : container.getComponents()) {
            if (name.equals(component.getName())) {
                return component;
            }
            if (component instanceof Container inner) {
                var found = search(inner, name);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }
}
