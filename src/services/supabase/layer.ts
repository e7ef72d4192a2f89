import { Layer } from "effect"
import { FileBuckets } from "./FileBuckets.ts"
import { FileBytes } from "./FileBytes.ts"
import { Files } from "./Files.ts"
import { ResumableUploads } from "./ResumableUploads.ts"
import { SignedUrls } from "./SignedUrls.ts"

/** Files as Supabase's clients store them. */
export const layer = ResumableUploads.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Files.layer, SignedUrls.layer)),
  Layer.provideMerge(Layer.mergeAll(FileBuckets.layer, FileBytes.layer))
)
