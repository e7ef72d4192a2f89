/**
 * The sockets whose request may take longer than Node allows: their bodies are not kept in memory, and who sends them is
 * disconnected when nothing arrives any more. Node reports a timeout once for each request, which its listener ignores.
 */
export const longRequests = new WeakSet<object>()
