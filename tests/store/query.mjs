// SPDX-License-Identifier: ISC
// Runs each query of standard input, a JSON array of texts, with DuckDB. Prints what they give as JSON.
import { DuckDBInstance } from '@duckdb/node-api';
import { readFileSync } from 'node:fs';

const instance = await DuckDBInstance.create(':memory:', { memory_limit: '500MB', threads: '1' });
const connection = await instance.connect();
const results = [];
for (const query of JSON.parse(readFileSync(0, 'utf8'))) {
    const reader = await connection.runAndReadAll(query);
    results.push(
        reader.getRows().map(row => row.map(cell => (cell === null ? null : String(cell))))
    );
}
console.log(JSON.stringify(results));
