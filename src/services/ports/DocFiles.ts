import { Context, type Effect } from "effect"

/** Port: the files of `docs/`, by name; empty if the service came without them. Layer: layers/mcp. */
export class DocFiles extends Context.Service<
  DocFiles,
  { readonly read: Effect.Effect<ReadonlyMap<string, string>> }
>()("svc/services/DocFiles") {}
