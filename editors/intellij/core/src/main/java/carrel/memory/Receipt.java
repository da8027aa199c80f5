package carrel.memory;

import carrel.protocol.Messages.ContextResult;
import java.time.Instant;

/** A question and what was put in front of it. */
public record Receipt(String question, ContextResult pack, Instant at) {}
