import { createBucket, deleteBucket, headBucket, listBuckets } from "./operations/Buckets.ts"
import {
  bucketDefaults,
  deleteCors,
  deleteLifecycle,
  deletePolicy,
  getCors,
  getLifecycle,
  getLocation,
  getPolicy,
  getPolicyStatus,
  objectDefaults,
  putCors,
  putLifecycle,
  putPolicy
} from "./operations/BucketSettings.ts"
import {
  deleteEncryption,
  deleteOwnershipControls,
  deletePublicAccessBlock,
  getEncryption,
  getOwnershipControls,
  getPublicAccessBlock,
  putEncryption,
  putOwnershipControls,
  putPublicAccessBlock
} from "./operations/BucketSecurity.ts"
import { completeUpload } from "./operations/Completion.ts"
import { copyObject } from "./operations/Copies.ts"
import { deleteObjects } from "./operations/DeleteObjects.ts"
import { type S3Operation } from "./Exchange.ts"
import { listObjects, listObjectsV2 } from "./operations/Listing.ts"
import { deleteObject, getObject, getObjectAttributes, headObject, putObject } from "./operations/Objects.ts"
import { postObject } from "./operations/PostObject.ts"
import { s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import {
  deleteBucketTagging,
  deleteObjectTagging,
  getBucketTagging,
  getObjectTagging,
  putBucketTagging,
  putObjectTagging
} from "./operations/Tagging.ts"
import { listParts, listUploads } from "./operations/UploadListings.ts"
import { abortUpload, createUpload, uploadPart, uploadPartCopy } from "./operations/Uploads.ts"
import { getVersioning, listObjectVersions, putVersioning } from "./operations/Versioning.ts"

/** Subresources of S3 that are not implemented; requests for them must not fall through to another operation. */
const bucketSubresources = new Set([
  ...Object.keys(bucketDefaults),
  ..."analytics intelligent-tiering inventory metrics policyStatus session metadataTable metadataConfiguration abac".split(
    " "
  )
])
const objectSubresources = new Set([
  ...Object.keys(objectDefaults),
  ..."legal-hold retention torrent restore select renameObject append encryption".split(" ")
])

const notImplemented = () =>
  s3Error("NotImplemented", "A header or query you provided implies functionality that is not implemented")

/** The operation of a request. Throws MethodNotAllowed and NotImplemented. */
export const operationOf = (request: S3Request): S3Operation => {
  if (request.bucket === "") return serviceOperation(request)
  return request.key === "" ? bucketOperation(request) : objectOperation(request)
}

const serviceOperation = ({ method }: S3Request) => {
  if (method === "GET" || method === "HEAD") return listBuckets
  throw methodNotAllowed(method)
}

/** Subresources that are implemented. */
const bucketDocuments = [
  ..."policy cors location policyStatus versions uploads delete tagging lifecycle encryption".split(" "),
  "ownershipControls",
  "publicAccessBlock",
  "versioning"
]

const bucketOperation = ({ message, method, param, query }: S3Request): S3Operation => {
  const has = (name: string) => param(name) !== undefined
  const verb = `${method} ${bucketDocuments.find(has) ?? ""}`
  const found = bucketOperations[verb.trim()]
  const subresource = query.map(([name]) => name).find((name) => bucketSubresources.has(name))
  if (subresource !== undefined && found !== getPolicyStatus) {
    const fallback = method === "GET" ? bucketDefaults[subresource] : undefined
    if (fallback === undefined) throw notImplemented()
    return fallback
  }
  if (verb === "GET " && param("list-type") === "2") return listObjectsV2
  if (verb === "POST " && /^multipart\/form-data/i.test(message.headers["content-type"] ?? "")) return postObject
  if (found === undefined) throw methodNotAllowed(method)
  return found
}

const bucketOperations: Readonly<Record<string, S3Operation>> = {
  GET: listObjects,
  HEAD: headBucket,
  PUT: createBucket,
  DELETE: deleteBucket,
  "GET policy": getPolicy,
  "PUT policy": putPolicy,
  "DELETE policy": deletePolicy,
  "GET policyStatus": getPolicyStatus,
  "GET cors": getCors,
  "PUT cors": putCors,
  "DELETE cors": deleteCors,
  "GET location": getLocation,
  "GET tagging": getBucketTagging,
  "PUT tagging": putBucketTagging,
  "DELETE tagging": deleteBucketTagging,
  "GET lifecycle": getLifecycle,
  "PUT lifecycle": putLifecycle,
  "DELETE lifecycle": deleteLifecycle,
  "GET encryption": getEncryption,
  "PUT encryption": putEncryption,
  "DELETE encryption": deleteEncryption,
  "GET ownershipControls": getOwnershipControls,
  "PUT ownershipControls": putOwnershipControls,
  "DELETE ownershipControls": deleteOwnershipControls,
  "GET publicAccessBlock": getPublicAccessBlock,
  "PUT publicAccessBlock": putPublicAccessBlock,
  "DELETE publicAccessBlock": deletePublicAccessBlock,
  "GET versions": listObjectVersions,
  "GET versioning": getVersioning,
  "PUT versioning": putVersioning,
  "GET uploads": listUploads,
  "POST delete": deleteObjects
}

const objectOperation = ({ header, method, param, query }: S3Request): S3Operation => {
  const has = (name: string) => param(name) !== undefined
  const verb = `${method} ${["uploadId", "uploads", "attributes", "tagging"].find(has) ?? ""}`.trim()
  const subresource = query.map(([name]) => name).find((name) => objectSubresources.has(name))
  if (subresource !== undefined) {
    const fallback = method === "GET" ? objectDefaults[subresource] : undefined
    if (fallback === undefined) throw notImplemented()
    return fallback
  }
  const copies = header("x-amz-copy-source") !== undefined
  if (copies && verb === "PUT") return copyObject
  if (copies && verb === "PUT uploadId") return uploadPartCopy
  const found = objectOperations[verb]
  if (found === undefined) throw methodNotAllowed(method)
  return found
}

const objectOperations: Readonly<Record<string, S3Operation>> = {
  GET: getObject,
  HEAD: headObject,
  PUT: putObject,
  DELETE: deleteObject,
  "GET attributes": getObjectAttributes,
  "GET tagging": getObjectTagging,
  "PUT tagging": putObjectTagging,
  "DELETE tagging": deleteObjectTagging,
  "GET uploadId": listParts,
  "PUT uploadId": uploadPart,
  "POST uploadId": completeUpload,
  "DELETE uploadId": abortUpload,
  "POST uploads": createUpload
}

const methodNotAllowed = (method: string) => s3Error("MethodNotAllowed", undefined, { Method: method })
