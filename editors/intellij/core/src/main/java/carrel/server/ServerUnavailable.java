package carrel.server;

/** The server can't be had. The message is fit for people; {@code remedy} says what to do. */
public final class ServerUnavailable extends RuntimeException {
    private final String remedy;

    public ServerUnavailable(String problem, String remedy) {
        super(problem);
        this.remedy = remedy;
    }

    public String remedy() {
        return remedy;
    }
}
