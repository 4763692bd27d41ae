/**
 * What the server runs: one script for each transition. It looks, stamps by its own clock, and writes, with nothing of anybody else in between.
 *
 * ARGV[1] is the name of the operation: for whoever watches the server (`MONITOR`, the slow log). Every answer is a list: what became of it, the server's
 * time, and what stands there. Numbers come and go as text: those of Lua are doubles, and it
 * prints large ones with an exponent. All reads come before the first write, which is the one that can be refused for lack of memory.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { LIGHT_COLUMNS } from './record-hash.ts';

export interface Script {
  readonly source: string;
  readonly sha: string;
}

export const script = (source: string): Script => ({ source, sha: createHash('sha1').update(source).digest('hex') });

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowMs = string.format('%.0f', now)
local row = KEYS[1]
`;

/** ARGV[2]: when the caller has given up. A command that was held up until then in a client, a socket or a stopped server must do nothing any more. */
const UNLESS_LATE = `
if now > tonumber(ARGV[2]) then return {'late', nowMs} end
`;

const CONFLICT = `{'conflict', nowMs, redis.call('HGETALL', row)}`;

/** → ok */
export const CLOCK = script(`${NOW} return {'ok', nowMs}`);

/** → ok, its fields */
export const READ = script(`${NOW} return {'ok', nowMs, redis.call('HGETALL', row)}`);

/** → ok, the values of {@link LIGHT_COLUMNS} */
export const READ_LIGHT = script(`${NOW} return {'ok', nowMs, redis.call('HMGET', row, ${LIGHT_COLUMNS.map((name) => `'${name}'`).join(', ')})}`);

/** ARGV: name, deadline, the revision that must stand. → ok; conflict, the fields of what stands there */
export const DELETE = script(`${NOW}
if redis.call('HGET', row, 'revision') ~= ARGV[3] then return ${CONFLICT} end
${UNLESS_LATE}
redis.call('DEL', row)
return {'ok', nowMs}`);

const FIELDS_AFTER = 6;

/**
 * Writes a record. KEYS: the row, and the work's own. ARGV: name, deadline, the revision that must stand ('' = only when absent), ms until it ends by
 * itself ('' = never), token, how many fields follow (names and values), the fields, and the work's own arguments. A second copy of the command, sent by the
 * client itself (ioredis does), is refused with what the first has written: the caller knows that by its revision.
 *
 * → ok, the token as written; conflict, the fields of what stands there; refused, the error that the work returned
 */
const PUT = (between: string): string => `${NOW}
local creating = ARGV[3] == ''
if creating then
  if redis.call('EXISTS', row) == 1 then return ${CONFLICT} end
elseif redis.call('HGET', row, 'revision') ~= ARGV[3] then
  return ${CONFLICT}
end
${UNLESS_LATE}
local token = ARGV[5]
if creating and now > tonumber(token) then token = nowMs end
local count = tonumber(ARGV[${FIELDS_AFTER}])
local fields = {'token', token, 'writtenAtMs', nowMs}
local kept = {token = true, writtenAtMs = true}
for at = 1, count do
  fields[at + 4] = ARGV[at + ${FIELDS_AFTER}]
  if at % 2 == 1 then kept[ARGV[at + ${FIELDS_AFTER}]] = true end
end
local gone = {}
if not creating then
  for _, name in ipairs(redis.call('HKEYS', row)) do
    if not kept[name] then gone[#gone + 1] = name end
  end
end
${between}
redis.call('HSET', row, unpack(fields))
if #gone > 0 then redis.call('HDEL', row, unpack(gone)) end
if ARGV[4] == '' then
  redis.call('PERSIST', row)
else
  redis.call('PEXPIREAT', row, string.format('%.0f', now + tonumber(ARGV[4])))
end
return {'ok', nowMs, token}`;

export const WRITE = script(PUT(''));

/** The caller's own script as a function, with nothing of ours in its sight. */
const workOf = (source: string): string => `local function work(KEYS, ARGV)
${source}
end
local function after(list, skipped)
  local rest = {}
  for at = skipped + 1, #list do rest[at - skipped] = list[at] end
  return rest
end
`;

/** An error as the answer of the work: its text may be anything, and must not be taken for one of the server's. */
const UNLESS_REFUSED = `if type(result) == 'table' and result.err then return {'refused', nowMs, result.err} end`;

/** {@link WRITE}, after the caller's work was done. */
export const writeWith = (source: string): Script =>
  script(
    `${workOf(source)}${PUT(`local result = work(after(KEYS, 1), after(ARGV, count + ${FIELDS_AFTER}))
${UNLESS_REFUSED}`)}`,
  );

/**
 * KEYS: the row, a mark of the command's own where ARGV[5] is not empty, and the work's own. ARGV: name, deadline, owner, token, whether there is a mark, and
 * the work's own. The mark tells a second copy, sent by the client itself, from the first; it stays until a copy would be late.
 *
 * → ok, what it returned; refused, its error; stale, the owner and token that stand there; again, this was the second copy
 */
export const fenced = (source: string): Script =>
  script(`${workOf(source)}${NOW}
local standing = redis.call('HMGET', row, 'owner', 'token')
if standing[1] ~= ARGV[3] or standing[2] ~= ARGV[4] then return {'stale', nowMs, standing} end
${UNLESS_LATE}
local skipped = 1
if ARGV[5] ~= '' then
  skipped = 2
  local leftMs = string.format('%.0f', tonumber(ARGV[2]) - now + 1)
  if not redis.call('SET', KEYS[2], '', 'PX', leftMs, 'NX') then return {'again', nowMs} end
end
local result = work(after(KEYS, skipped), after(ARGV, 5))
${UNLESS_REFUSED}
return {'ok', nowMs, result}`);
