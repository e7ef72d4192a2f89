import { bodiesOnPath, bodiesPart, bodyUses, wrongBodies } from "./bodies/BodiesSql.ts"
import { cleanSettings } from "./bodies/SqlNames.ts"
import { cleanFunctions, configuredFunctions, firstOid, varyingFunctions } from "./CleanFunctions.ts"
import { treesSql } from "./Ways.ts"
import { quoteLiteral } from "../sql/Names.ts"

/**
 * WITH parts of the catalogue query that prove which statements run no user code. They read the stored expression trees
 * (pg_node_tree), and check nodes, fields, functions and settings against allow lists: anything that is not on a list
 * is not clean. "Built in" means that initdb made it and it has not been replaced since.
 */

const words = (text: string) => text.trim().split(/\s+/)
const list = (all: ReadonlyArray<string>) => all.map(quoteLiteral).join(", ")

/**
 * Nodes of expressions and of queries that only read. Not here: COERCETODOMAIN, FIELDSELECT and CONVERTROWTYPEEXPR, which
 * need types that have code; ROWCOMPAREEXPR, XMLEXPR and TABLEFUNC; ROWMARKCLAUSE, which locks.
 */
const nodes = words(`
  AGGREF ALIAS ARRAYCOERCEEXPR ARRAYEXPR BOOLEANTEST BOOLEXPR CASEEXPR CASETESTEXPR CASEWHEN COALESCEEXPR COERCEVIAIO
  COLLATEEXPR COMMONTABLEEXPR CONST DISTINCTEXPR FROMEXPR FUNCEXPR JOINEXPR JSONBEHAVIOR JSONCONSTRUCTOREXPR JSONEXPR
  JSONFORMAT JSONISPREDICATE JSONRETURNING JSONVALUEEXPR MINMAXEXPR NAMEDARGEXPR NULLIFEXPR NULLTEST OPEXPR PARAM QUERY
  RANGETBLENTRY RANGETBLFUNCTION RANGETBLREF RELABELTYPE ROWEXPR RTEPERMISSIONINFO SCALARARRAYOPEXPR SETOPERATIONSTMT
  SORTGROUPCLAUSE SQLVALUEFUNCTION SUBLINK SUBSCRIPTINGREF TARGETENTRY VAR WINDOWCLAUSE WINDOWFUNC`)

/** Fields of these nodes with numbers that name no type, function, operator or relation. Lists begin with a letter. */
const numbers = words(`
  aggargtypes(o aggcollid agglevelsup aggno aggsplit aggtransno argnumber array_collid btype casecollid checkAsUser
  coalescecollid coerceformat coercionformat colCollations(o colTypes(o colTypmods(i colcollations(o coltypes(o
  coltypmods(i coll collOid collation constcollid constlen consttypmod constvalue ctelevelsup ctematerialized cterefcount
  ctecolcollations(o ctecoltypes(o ctecoltypmods(i encoding extraUpdatedCols(b format_type frameOptions funccolcollations(o
  funccolcount funccoltypmods(i funccollid funcformat funcparams(b hashfuncid insertedCols(b inputcollid item_type
  joinleftcols(i joinmergedcols joinrightcols(i jointype limitOption list_end list_start location minmaxcollid negfuncid
  nulltesttype booltesttype on_behavior opcollid opfuncid override paramcollid paramid paramkind paramtypmod
  perminfoindex querySource refcollid reftypmod relabelformat rellockmode requiredPerms resno resorigcol resorigtbl
  ressortgroupref resultcollid resulttypmod row_format rtekind rtindex selectedCols(b stmt_len stmt_location subLinkId
  subLinkType tleSortGroupRef typeMod typmod updatedCols(b varattno varattnosyn varcollid varlevelsup varno varnosyn
  varnullingrels(b vartypmod wincollid winref`)

const typeFields = words(`
  aggtranstype aggtype array_typeid casetype coalescetype consttype element_typeid funcresulttype minmaxtype opresulttype
  paramtype refcontainertype refelemtype refrestype resulttype row_typeid type typeId typid vartype wintype`)

/** A constant text in a tree, as a little-endian server writes it: its length, then its bytes. */
const bytesOf = (text: string) => {
  const length = text.length + 4
  const header = [(length << 2) & 255, (length << 2) >> 8, 0, 0]
  return `${length} \\[ ${[...header, ...Buffer.from(text)].join(" ")} \\]`
}

/** Calls of current_setting (oids 2077 and 3294) up to the name of an allowed setting. */
const readsSetting = `[{]FUNCEXPR :funcid (?:2077|3294) :funcresulttype 25 :funcretset false :funcvariadic false :funcformat [0-9] :funccollid 100 :inputcollid 100 :args \\([{]CONST :consttype 25 :consttypmod -1 :constcollid 100 :constlen -1 :constbyval false :constisnull false :location -?[0-9]+ :constvalue (?:${cleanSettings.map(bytesOf).join("|")})`

/**
 * `plain_types`: built-in types whose values read the same under any search path, and enums without casts. `not_clean`:
 * what may run user code, by kind and oid: `r` reading a relation, `i` planning a statement on it (also by a foreign key),
 * `w` writing its values (without what `r` says), `c` evaluating CHECK constraints, its own and those of what it reads, `f`
 * calling a function, `p` calling one that writes, from outside (without what writing says of its relations). `on_path`: what is
 * clean, but depends on the search path. `promised`: functions that are declared IMMUTABLE and not proven to be, whose
 * results PostgreSQL keeps in plans: what reaches them is not clean. `own`: `some` is true if objects exist that any
 * statement might run.
 */
export const cleanSql = `
-- The functions of PostgreSQL itself. CREATE OR REPLACE would keep the oid: then initdb did not write the entry (its
-- transaction is 1), unless it did so twice; or it still calls the C function of its own name.
native as materialized (
  select p.oid, p.proname, p.provolatile from pg_proc p
    join pg_language l on l.oid = p.prolang and (l.lanname = 'internal' or l.lanname = 'sql' and p.prosqlbody is null)
  where p.oid < ${firstOid} and p.pronamespace = 'pg_catalog'::regnamespace
    and (p.xmin::text = '1' or p.prosrc = p.proname)
    and (p.proargdefaults is null or p.proargdefaults::text !~ '[{](?!CONST )')
),
clean_functions as materialized (
  select oid from native where proname = any (array[${list(cleanFunctions)}]::name[])
  union all select p.oid from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'c'
    where p.oid >= ${firstOid} and p.proname in (${list(configuredFunctions)})
),
-- Of an operator, its function.
clean_operators as materialized (
  select o.oid, n.oid is null as called, o.oprcode::oid as code
  from pg_operator o left join native n on n.oid = o.oprcode and n.provolatile <> 'v' where o.oid < ${firstOid}
),
-- The text of these types depends on the search path.
named_types as (
  select oid from pg_type where oid in (
    'regclass'::regtype, 'regcollation'::regtype, 'regconfig'::regtype, 'regdictionary'::regtype, 'regoper'::regtype,
    'regoperator'::regtype, 'regproc'::regtype, 'regprocedure'::regtype, 'regtype'::regtype)
),
plain_types as materialized (
  select t.oid from pg_type t left join pg_type e on e.oid = t.typelem and t.typlen = -1
  where (t.oid < ${firstOid} and coalesce(e.oid, t.oid) not in (select oid from named_types)
         or coalesce(e.typtype, t.typtype) = 'e'
            and not exists (select from pg_cast c where c.castsource in (t.oid, e.oid)))
    and t.typtype in ('b', 'e', 'r', 'm') and coalesce(e.typtype, 'b') in ('b', 'e', 'r', 'm')
),
-- In a tree, a polymorphic type or a record stands for types that are named beside it.
tree_types as materialized (
  select oid from plain_types union all
  select oid from pg_type where oid < ${firstOid} and typtype = 'p' and typname not in ('cstring', 'internal')
),
-- Functions in C belong to extensions, which administrators install: they count as PostgreSQL's.
own_functions as materialized (
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
  where l.lanname not in ('internal', 'c') and (p.oid >= ${firstOid} or l.lanname <> 'sql')
     or l.lanname = 'internal' and p.oid >= ${firstOid}
),
-- Relations whose rows can be read without user code if their trees say so.
readable as materialized (
  select c.oid, c.reltype, c.relrowsecurity from pg_class c
  where c.oid >= ${firstOid} and c.relkind in ('r', 'm', 'v') and c.relpersistence <> 't'
    -- Rows of a partition are checked by the expressions of its table's key.
    and not c.relispartition
    and not exists (select from pg_inherits i where i.inhparent = c.oid)
    and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                      and a.atttypid not in (select oid from plain_types))
    and not exists (select from pg_cast k join pg_type t on t.oid = k.castsource
                    where c.reltype in (t.oid, t.typelem) and k.castfunc in (select oid from own_functions))
),
${bodiesPart},
-- Functions whose body PostgreSQL keeps as a tree, and may inline.
planned as materialized (
  select p.oid, t.typrelid from pg_proc p join pg_type t on t.oid = p.prorettype
  where p.prolang = (select oid from pg_language where lanname = 'sql') and p.prosqlbody is not null and p.prokind = 'f'
    and not p.prosecdef and p.proconfig is null
    and (p.oid >= ${firstOid} or p.proname = any (array[${list(cleanFunctions)}]::name[]) or p.oid in (select code from clean_operators where called))
    -- PostgreSQL casts the result to the declared type, which the body does not show.
    and not exists (select from pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) a where a not in (select oid from tree_types))
    and (p.prorettype in (select oid from tree_types) and (p.prorettype <> 'record'::regtype or p.proallargtypes is not null)
         or t.typrelid in (select oid from readable))
),
callable as materialized (
  select oid, typrelid from planned union all select oid, typrelid from bodies where kind = 'f'
),
-- Whether the planner looks at CHECK and partition constraints when a table is read.
excluding as (
  select pg_catalog.current_setting('constraint_exclusion') = 'on'
    or exists (select from pg_db_role_setting where setconfig::text ~* 'constraint_exclusion') as checks
),
-- Bodies by the kind of what they do.
known_bodies as (
  select 'f' as kind, oid from planned union all select kind, oid from bodies
),
trees(kind, oid, tree) as (
  ${treesSql}
),
-- A tree cut before its fields: each piece is a name and a value, which may end with the name of the next node. Within
-- strings, braces and spaces are escaped; pieces of strings can only add to what is not clean.
pieces as materialized (
  select kind, oid, pg_catalog.split_part(piece, ' ', 1) as field,
    pg_catalog.rtrim(pg_catalog.split_part(piece, ' ', 2), ')}') as value,
    case when piece ~ '[{]' then coalesce(pg_catalog.substring(piece, '^[^{]*[{]([A-Z_]+)$'), '?') end as node
  from trees cross join lateral pg_catalog.string_to_table(tree, ' :') piece
  where pg_catalog.split_part(piece, ' ', 1) not in (${list(numbers.filter((field) => !field.includes("(")))})
    or piece ~ '[{]'
),
facts as materialized (
  select kind, oid, field, value from pieces
  where value ~ '^(-?[0-9]|[(][a-z]$)' and value <> '0' and field not in (${list(numbers)})
    and (value !~ '^[(]' or field || value not in (${list(numbers)}))
  group by kind, oid, field, value
),
uses as (
  select kind, oid, 'f' as used, value::oid as by from facts
    where field in ('funcid', 'aggfnoid', 'winfnoid') and value::oid not in (select oid from clean_functions)
  union select f.kind, f.oid, 'f', o.code from facts f join clean_operators o on o.oid = f.value::oid and o.called
    where f.field in ('opno', 'eqop', 'sortop')
  union select kind, oid, 'r', value::oid from facts where field = 'relid'
  union select 'r', oid, 'i', oid from readable
  union select case when x.checks then 'r' else 'w' end, conrelid, 'c', conrelid from pg_constraint cross join excluding x
    where conbin is not null and conrelid >= ${firstOid}
  -- The planner also looks at the CHECK constraints of tables under UNION ALL, and views and functions may be between.
  union select kind, oid, 'c', value::oid from facts
    where field in ('relid', 'funcid') and (kind, oid) in (select kind, oid from pieces where node = 'SETOPERATIONSTMT')
  union select 'c', oid, 'c', value::oid from facts where field in ('relid', 'funcid') and kind in ('r', 'f')
  union select 'f', oid, 'r', typrelid from planned where typrelid <> 0
  union ${bodyUses}
),
unproven(kind, oid) as (
  with recursive wrong as (
    select kind, oid from pieces where node is not null and node not in (${list(nodes)})
    union select kind, oid from facts where not case
      when value !~ '^[0-9]+$' then false
      when field in (${list(typeFields)}) then
        value::oid in (select oid from tree_types)
        or field = 'consttype' and value::oid in (select oid from named_types)
        -- Not a type, but what a JSON constructor makes.
        or field = 'type' and value::oid < 16
      when field in ('opno', 'eqop', 'sortop') then value::oid in (select oid from clean_operators)
      when field = 'commandType' then value = '1'
      -- CURRENT_SCHEMA is another one on the clean path.
      when field = 'op' then value <> '14'
      else field in ('funcid', 'aggfnoid', 'winfnoid', 'relid') end
    union ${wrongBodies}
    union select kind, oid from uses u where used = 'f' and by not in (select oid from callable)
    union select kind, oid from uses u where used = 'r' and by not in (select oid from readable)
    union select kind, oid from trees where tree ~ ':funcid (2077|3294) '
      and pg_catalog.regexp_replace(tree, ${quoteLiteral(readsSetting)}, '', 'g') ~ ':funcid (2077|3294) '
    -- The name of a relation or function is another one on the clean path.
    union select kind, oid from pieces where node = 'COERCEVIAIO'
      and (kind, oid) in (select kind, oid from facts where field = 'consttype' and value in (select oid::text from named_types))
    union select u.kind, u.oid from uses u join wrong w on w.kind = u.used and w.oid = u.by
  )
  select kind, oid from wrong
),
-- Functions that may answer another caller, or at another time, differently.
varying(kind, oid) as (
  with recursive differing as (
    select kind, oid from named_functions where by in (select oid from native where proname in (${list(varyingFunctions)}))
    union select kind, oid from facts
      where field in ('funcid', 'aggfnoid', 'winfnoid') and value::oid in (select oid from native where proname in (${list(varyingFunctions)}))
    union select kind, oid from pieces where node = 'SQLVALUEFUNCTION'
    union select kind, oid from uses where used = 'r'
    union select u.kind, u.oid from uses u join differing d on d.kind = u.used and d.oid = u.by where u.used = 'f'
  )
  select kind, oid from differing
),
promised as materialized (
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
  where p.provolatile = 'i' and p.prokind = 'f' and p.oid >= ${firstOid} and l.lanname not in ('internal', 'c')
    and p.pronamespace not in (select oid from pg_namespace where nspname in ('svc', 'svc_ddl'))
    and (p.oid not in (select oid from callable)
         or ('f', p.oid) in (select kind, oid from unproven) or ('f', p.oid) in (select kind, oid from varying))
    -- An extension's functions are its administrator's.
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
),
not_clean(kind, oid) as (
  with recursive folding as (
    select k.kind, p.oid from promised p cross join (values ('f'), ('p')) k(kind)
    union select u.kind, u.oid from uses u join folding f on f.kind = u.used and f.oid = u.by
  )
  select kind, oid from unproven union select kind, oid from folding
),
on_path(kind, oid) as (
  with recursive dependent as (
    select * from (${bodiesOnPath}) b(kind, oid)
    union select u.kind, u.oid from uses u join dependent d on d.kind = u.used and d.oid = u.by
  )
  select kind, oid from dependent
),
-- What PostgreSQL could choose for a comparison, a sort order, a cast or a call that we write: then nothing is clean.
own as materialized (
  select exists (
    select from pg_operator o
    where o.oid >= ${firstOid} and o.oprcode::oid in (select oid from own_functions)
      and o.oprname in ('=', '<>', '<', '>', '<=', '>=', '~~', '~~*', '!~~', '!~~*', '~', '~*', '@>', '<@', '&&', '<<',
        '>>', '&<', '&>', '-|-', '@@', '->', '->>', '||', '+', '-')
      and (o.oprleft in (select oid from plain_types) or o.oprleft < ${firstOid})
  ) or exists (
    select from pg_opclass c
    where (c.opcintype in (select oid from plain_types) or c.opcintype < ${firstOid})
      and (exists (select from pg_amproc a where a.amprocfamily = c.opcfamily and a.amproc::oid in (select oid from own_functions))
           or exists (select from pg_amop a join pg_operator o on o.oid = a.amopopr
                      where a.amopfamily = c.opcfamily and o.oprcode::oid in (select oid from own_functions)))
  ) or exists (
    select from pg_cast k
    where k.castfunc in (select oid from own_functions)
      and (k.castsource in (select oid from plain_types) or k.castsource < ${firstOid})
      and (k.casttarget in (select oid from plain_types) or k.casttarget < ${firstOid})
  ) or exists (
    select from pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.oid in (select oid from own_functions)
      and p.proname in (select proname from native)
  ) or exists (
    select from pg_aggregate a join pg_proc p on p.oid = a.aggfnoid
    where p.pronamespace = 'pg_catalog'::regnamespace
      and (p.oid >= ${firstOid} or greatest(a.aggtransfn::oid, a.aggfinalfn::oid, a.aggmtransfn::oid, a.aggmfinalfn::oid) >= ${firstOid})
  ) or exists (
    -- The planner replaces NOT (a op b) by the negator, which a superuser may add.
    select from pg_operator o join pg_operator l on l.oid in (o.oprnegate, o.oprcom)
    where o.oid < ${firstOid} and l.oprcode::oid in (select oid from own_functions)
  ) or exists (
    -- The planner inlines an operator's function that a superuser has replaced.
    select from clean_operators o join pg_proc p on p.oid = o.code
    where o.called and p.oid not in (select oid from native)
      and (p.prosqlbody is null or ('f', p.oid) in (select kind, oid from not_clean))
  ) as some
)`
