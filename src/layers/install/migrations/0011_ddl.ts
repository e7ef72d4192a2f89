import { ddlSql } from "../../../domain/catalogue/DdlSql.ts"
import { resetSessionSql } from "../../../domain/sql/ResetSession.ts"
import { statements } from "./statements.ts"

/** The record of DDL, and the reset of sessions. The event triggers, which only a superuser may create, are created by the installation. */
export const ddl = statements(...ddlSql, resetSessionSql)
