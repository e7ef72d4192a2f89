import { Effect } from "effect"
import { type Owner } from "../../../process/FileLock.ts"
import { BlobDrafts } from "./blobs/Drafts.ts"
import { BlobFiles } from "./blobs/Files.ts"
import { makeBlobHashes } from "./blobs/Hash.ts"
import { sweep } from "./blobs/Sweep.ts"
import { openIndex } from "./Index.ts"
import { type Store } from "./Model.ts"
import { storeReads } from "./Reads.ts"
import { storeWrites } from "./Writes.ts"

/** Opens the store in a directory, made when missing; one store a directory. New files are given to `owner`. */
export const makeStore = Effect.fnUntraced(function* (directory: string, owner: Owner | undefined) {
  const files = yield* BlobFiles.open(directory, owner)
  const index = yield* openIndex(files, owner)
  const drafts = new BlobDrafts(files, yield* makeBlobHashes)
  yield* Effect.forkScoped(sweep(index, files))
  const store: Store = { ...storeReads(index, files), ...storeWrites(index, files, drafts) }
  return store
})
