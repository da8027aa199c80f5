package carrel.memory;

import carrel.protocol.CarrelServer;
import java.util.concurrent.CompletableFuture;

/** The way to the server. */
public interface ServerAccess {
    /**
     * The running server, started for this if need be.
     *
     * <p>Fails with {@link carrel.server.ServerUnavailable} when there is none.
     */
    CompletableFuture<CarrelServer> server();
}
