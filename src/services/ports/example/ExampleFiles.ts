import { Context } from "effect"
import { type DashboardFile } from "../DashboardFiles.ts"

/** Port: the built page of the example, by path below `/example/`, and its SQL. Layer: layers/example. */
export class ExampleFiles extends Context.Service<
  ExampleFiles,
  {
    /** Undefined when it is not built. */
    readonly files: ReadonlyMap<string, DashboardFile> | undefined
    /** The texts of the migrations, in order. */
    readonly migrations: ReadonlyArray<string>
  }
>()("svc/services/ExampleFiles") {}
