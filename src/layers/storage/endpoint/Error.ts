import { Data } from "effect"

/** An error of the S3 protocol: a response with `status` and an XML body of `code`, `message` and `extra`. */
export class S3Error extends Data.TaggedError("S3Error")<{
  readonly code: string
  readonly status: number
  readonly message: string
  /** Further elements of the XML body, such as BucketName or Key. */
  readonly extra?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}> {}

/** S3's codes with their status and default message. */
const codes = {
  AccessControlListNotSupported: [400, "The bucket does not allow ACLs"],
  AccessDenied: [403, "Access Denied"],
  AccessForbidden: [403, "CORSResponse: This CORS request is not allowed."],
  AuthorizationHeaderMalformed: [400, "The authorization header is malformed."],
  AuthorizationQueryParametersError: [400, "Error parsing the X-Amz-Credential parameter."],
  BadDigest: [400, "The Content-MD5 or checksum value that you specified did not match what we received."],
  BadRequest: [400, "The request could not be understood."],
  BucketAlreadyExists: [409, "The requested bucket name is not available."],
  BucketAlreadyOwnedByYou: [409, "Your previous request to create the named bucket succeeded and you already own it."],
  BucketNotEmpty: [409, "The bucket you tried to delete is not empty"],
  EntityTooLarge: [400, "Your proposed upload exceeds the maximum allowed size"],
  EntityTooSmall: [400, "Your proposed upload is smaller than the minimum allowed size"],
  ExpiredToken: [400, "The provided token has expired."],
  IncompleteBody: [400, "You did not provide the number of bytes specified by the Content-Length HTTP header"],
  InsufficientStorage: [507, "There is not enough disk space to store the object."],
  IllegalVersioningConfigurationException: [400, "The Versioning element must be specified"],
  InternalError: [500, "We encountered an internal error. Please try again."],
  InvalidAccessKeyId: [403, "The AWS Access Key Id you provided does not exist in our records."],
  InvalidArgument: [400, "Invalid Argument"],
  InvalidBucketName: [400, "The specified bucket is not valid."],
  InvalidDigest: [400, "The Content-MD5 or checksum value that you specified is not valid."],
  InvalidPart: [
    400,
    "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag."
  ],
  InvalidPartNumber: [416, "The requested partnumber is not satisfiable"],
  InvalidPartOrder: [400, "The list of parts was not in ascending order. The parts list must be specified in order."],
  InvalidPolicyDocument: [
    400,
    "The content of the form does not meet the conditions specified in the policy document."
  ],
  InvalidRange: [416, "The requested range is not satisfiable"],
  InvalidRequest: [400, "Invalid Request"],
  InvalidStorageClass: [400, "The storage class you specified is not valid"],
  InvalidTag: [400, "The tag provided was not a valid tag"],
  InvalidURI: [400, "Couldn't parse the specified URI."],
  InvalidToken: [400, "The provided token is malformed or otherwise not valid."],
  KeyTooLongError: [400, "Your key is too long"],
  MalformedACLError: [400, "The XML you provided was not well-formed or did not validate against our published schema"],
  MalformedPOSTRequest: [400, "The body of your POST request is not well-formed multipart/form-data."],
  MalformedPolicy: [400, "This policy is not valid."],
  MalformedXML: [400, "The XML you provided was not well-formed or did not validate against our published schema"],
  MaxMessageLengthExceeded: [400, "Your request was too big."],
  MetadataTooLarge: [400, "Your metadata headers exceed the maximum allowed metadata size"],
  MethodNotAllowed: [405, "The specified method is not allowed against this resource."],
  MissingContentLength: [411, "You must provide the Content-Length HTTP header."],
  MissingSecurityHeader: [400, "Your request was missing a required header."],
  NoSuchBucket: [404, "The specified bucket does not exist"],
  NoSuchBucketPolicy: [404, "The bucket policy does not exist"],
  NoSuchCORSConfiguration: [404, "The CORS configuration does not exist"],
  NoSuchKey: [404, "The specified key does not exist."],
  NoSuchLifecycleConfiguration: [404, "The lifecycle configuration does not exist"],
  NoSuchTagSet: [404, "The TagSet does not exist"],
  NoSuchUpload: [
    404,
    "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed."
  ],
  NoSuchVersion: [404, "The specified version does not exist."],
  NoSuchWebsiteConfiguration: [404, "The specified bucket does not have a website configuration"],
  NotImplemented: [501, "A header you provided implies functionality that is not implemented"],
  ObjectLockConfigurationNotFoundError: [404, "Object Lock configuration does not exist for this bucket"],
  ObjectsNotKept: [409, "The store does not keep the objects of that time"],
  OperationAborted: [409, "A conflicting operation is in progress against this resource. Please try again."],
  OwnershipControlsNotFoundError: [404, "The bucket ownership controls were not found"],
  PreconditionFailed: [412, "At least one of the pre-conditions you specified did not hold"],
  ReplicationConfigurationNotFoundError: [404, "The replication configuration was not found"],
  RequestTimeTooSkewed: [403, "The difference between the request time and the current time is too large."],
  RequestTimeout: [400, "Your socket connection to the server was not read from or written to within the timeout."],
  ServerSideEncryptionConfigurationNotFoundError: [404, "The server side encryption configuration was not found"],
  NoSuchPublicAccessBlockConfiguration: [404, "The public access block configuration was not found"],
  SignatureDoesNotMatch: [
    403,
    "The request signature we calculated does not match the signature you provided. Check your key and signing method."
  ],
  SlowDown: [503, "Please reduce your request rate."],
  TooManyParts: [400, "You have attempted to upload more parts than are allowed."],
  XAmzContentSHA256Mismatch: [400, "The provided 'x-amz-content-sha256' header does not match what was computed."]
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>

export type S3Code = keyof typeof codes

/** An error with the code's default message unless one is given. */
export const s3Error = (
  code: S3Code,
  message?: string,
  extra?: Readonly<Record<string, string>>,
  headers?: Readonly<Record<string, string>>
): S3Error =>
  new S3Error({
    code,
    status: codes[code][0],
    message: message ?? codes[code][1],
    ...(extra === undefined ? {} : { extra }),
    ...(headers === undefined ? {} : { headers })
  })
