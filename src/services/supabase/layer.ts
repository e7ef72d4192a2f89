import { Layer } from "effect"
import { FileBuckets } from "./FileBuckets.ts"
import { FileBytes } from "./FileBytes.ts"
import { Files } from "./Files.ts"
import { SignedUrls } from "./SignedUrls.ts"

/** Files as Supabase's clients store them. */
export const layer = Layer.mergeAll(Files.layer, SignedUrls.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(FileBuckets.layer, FileBytes.layer))
)
