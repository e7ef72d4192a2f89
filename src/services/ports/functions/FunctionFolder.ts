import { Context, type Effect } from "effect"
import { type SourceFiles } from "../../../domain/functions/Function.ts"

/** Port: the functions of SVC_FUNCTIONS_DIR. Implemented by layers/functions/Folder.ts. */
export class FunctionFolder extends Context.Service<
  FunctionFolder,
  {
    /** The names of its functions, in order. */
    readonly names: Effect.Effect<ReadonlyArray<string>>
    /** Changes when a file of the folder does; "" if there is no folder. */
    readonly stamp: Effect.Effect<string>
    /** What a function needs: its own folder, those that begin with `_`, and the files beside them. */
    readonly files: (name: string) => Effect.Effect<SourceFiles | undefined>
  }
>()("svc/services/FunctionFolder") {}
