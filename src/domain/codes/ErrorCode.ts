import { type accountCodes, type oauth2Codes } from "./AccountCodes.ts"
import { type eventCodes, type mcpCodes, type rowCodes } from "./DatabaseCodes.ts"
import {
  type branchCodes,
  type environmentCodes,
  type flagCodes,
  type migrationCodes,
  type scheduleCodes,
  type queueCodes,
  type storageCodes,
  type workspaceCodes
} from "./ManagementCodes.ts"
import { type postgrestCodes } from "./PostgrestCodes.ts"
import { type credentialCodes, type requestCodes } from "./RequestCodes.ts"
import { type AuthCode, type FileCode } from "./SupabaseCodes.ts"

type Tables = typeof requestCodes &
  typeof credentialCodes &
  typeof rowCodes &
  typeof mcpCodes &
  typeof eventCodes &
  typeof accountCodes &
  typeof oauth2Codes &
  typeof storageCodes &
  typeof flagCodes &
  typeof environmentCodes &
  typeof migrationCodes &
  typeof branchCodes &
  typeof scheduleCodes &
  typeof queueCodes &
  typeof workspaceCodes

/** The codes of the service's own errors. The tables of this folder say what each means. */
type ServiceCode = keyof Tables

type PostgrestCode = keyof typeof postgrestCodes

type SqlClass =
  | "00"
  | "01"
  | "02"
  | "03"
  | "08"
  | "09"
  | "0A"
  | "0B"
  | "0F"
  | "0L"
  | "0P"
  | "0Z"
  | "20"
  | "21"
  | "22"
  | "23"
  | "24"
  | "25"
  | "26"
  | "27"
  | "28"
  | "2B"
  | "2D"
  | "2F"
  | "34"
  | "38"
  | "39"
  | "3B"
  | "3D"
  | "3F"
  | "40"
  | "42"
  | "44"
  | "53"
  | "54"
  | "55"
  | "57"
  | "58"
  | "72"
  | "F0"
  | "HV"
  | "P0"
  | "PT"
  | "SV"
  | "XX"

/**
 * A SQLSTATE of PostgreSQL, by its class, so that a comparison with a misspelt code of the service does not compile. User
 * code may raise any other text, which is passed through under this type.
 */
export type SqlState = `${SqlClass}${string}`

/** The code of a failed request. */
export type ErrorCode = ServiceCode | PostgrestCode | SqlState | AuthCode | FileCode
