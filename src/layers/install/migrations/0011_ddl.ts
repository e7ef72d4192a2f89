import { ddlSql } from "../../../domain/catalogue/DdlSql.ts"
import { statements } from "./statements.ts"

/** The record of DDL. The event triggers, which only a superuser may create, are created by the installation. */
export const ddl = statements(...ddlSql)
