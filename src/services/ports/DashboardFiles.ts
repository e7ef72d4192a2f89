import { Context } from "effect"

/** A file of the dashboard in the encodings that the build has made. */
export interface DashboardFile {
  readonly plain: Uint8Array
  readonly gzip: Uint8Array | undefined
  readonly br: Uint8Array | undefined
}

/** Port: the built dashboard, by path below `/dashboard/`. Undefined when it is not built. Layer: layers/dashboard. */
export class DashboardFiles extends Context.Service<
  DashboardFiles,
  { readonly files: ReadonlyMap<string, DashboardFile> | undefined }
>()("svc/services/DashboardFiles") {}
