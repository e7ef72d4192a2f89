import { type JsonBounds } from "../text/JsonShape.ts"

/** Maximum bytes of a request with a context: all flags or one, and up to 1,000 that it names. */
export const contextBytes = 64 * 1024
export const bulkContextBytes = 384 * 1024

/** Bounds on the JSON of such a request. A context has fewer levels than these, which is checked once it is decoded. */
export const contextBounds: JsonBounds = { depth: 80, keys: 2_000, values: 10_000 }
