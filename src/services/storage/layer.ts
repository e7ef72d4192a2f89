import { Layer } from "effect"
import { layerWithoutFiles } from "./HiddenBucket.ts"
import { Storage } from "./Storage.ts"
import { layerUploadExpiry } from "./UploadExpiry.ts"

/** Buckets, objects and uploads. */
export const layer = Layer.mergeAll(Layer.provideMerge(Storage.layer, layerWithoutFiles), layerUploadExpiry)
