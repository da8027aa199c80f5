package carrel.memory;

import carrel.protocol.Messages.ContextResult;

/** A question and what was put in front of it. */
public record Receipt(String question, ContextResult pack) {}
