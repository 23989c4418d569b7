BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0008');
CREATE TABLE conflicts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	path TEXT NOT NULL,
	loser_time BIGINT NOT NULL,
	loser_region TEXT NOT NULL,
	loser_seen TEXT NOT NULL,
	loser_digest BLOB,
	winner_time BIGINT NOT NULL,
	winner_region TEXT NOT NULL,
	reason TEXT NOT NULL,
	recorded_at BIGINT NOT NULL,
	restored_at BIGINT,
	value BLOB
);
CREATE TABLE consumed (
	sender TEXT NOT NULL,
	through BIGINT NOT NULL,
	ahead TEXT NOT NULL,
	PRIMARY KEY (sender)
);
CREATE TABLE daemons (
	id TEXT NOT NULL,
	host TEXT NOT NULL,
	pid BIGINT NOT NULL,
	version TEXT NOT NULL,
	role TEXT NOT NULL,
	epoch BIGINT,
	started_at BIGINT NOT NULL,
	since BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	trouble TEXT,
	PRIMARY KEY (id)
);
CREATE TABLE future_events (
	path TEXT NOT NULL,
	time BIGINT NOT NULL,
	region TEXT NOT NULL,
	held_at BIGINT NOT NULL,
	head TEXT NOT NULL,
	value BLOB,
	PRIMARY KEY (path, time, region)
);
CREATE TABLE held_publications (
	path TEXT NOT NULL,
	head TEXT NOT NULL,
	value BLOB,
	PRIMARY KEY (path)
);
CREATE TABLE identity (
	one INTEGER NOT NULL,
	region TEXT NOT NULL,
	database_id TEXT NOT NULL,
	generation INTEGER NOT NULL,
	genesis BOOLEAN NOT NULL,
	store_id TEXT,
	epoch BIGINT NOT NULL,
	last_sequence BIGINT NOT NULL,
	alive_until BIGINT NOT NULL,
	paused TEXT,
	alive_count BIGINT NOT NULL, rebuild TEXT, landed TEXT, mark BIGINT DEFAULT '0' NOT NULL, marked BIGINT DEFAULT '0' NOT NULL,
	PRIMARY KEY (one),
	CONSTRAINT identity_is_one_row CHECK (one = 1)
);
INSERT INTO "identity" VALUES(1,'east','11685833b175ebb2ceb975934d1c8b28',1795374858,1,'39e7d5ccfd5eebf6',1,5,1795374858901,NULL,4,NULL,'0.0',3,3);
CREATE TABLE journal (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	at BIGINT NOT NULL,
	path TEXT NOT NULL,
	decision TEXT NOT NULL,
	stamp TEXT NOT NULL,
	digest BLOB,
	seen TEXT NOT NULL,
	against TEXT NOT NULL,
	detail TEXT NOT NULL
);
INSERT INTO "journal" VALUES(1,1795374858909,'/admin/clusters/east','baseline','998204625142@east',X'474169768E672C141385A1012ADC0E16','{"east~1795374858":998204625142}','','');
INSERT INTO "journal" VALUES(2,1795374858909,'/admin/clusters/north','baseline','998204625142@east',X'154A8C156AB606E0969ADAC6037D2616','{"east~1795374858":998204625142}','','');
INSERT INTO "journal" VALUES(3,1795374858909,'/admin/clusters/west','baseline','998204625142@east',X'67F9DBF0917FEEEC305DC52C0FB4DA2E','{"east~1795374858":998204625142}','','');
INSERT INTO "journal" VALUES(4,1795374858964,'/admin/policies/acme','baseline','998204625142@east',X'4D856C00ECA5587EB5F9E8150C8D4B69','{"east~1795374858":998204625142}','','');
INSERT INTO "journal" VALUES(5,1795374859138,'/admin/clusters/west','published','1795374859098@east',X'65E2AA01DF819B3FC9ECC616FD66E8D4','{"east~1795374858":1795374859098}','998204625142@east','');
CREATE TABLE membership (
	one INTEGER NOT NULL,
	floor BIGINT NOT NULL,
	left_at BIGINT,
	PRIMARY KEY (one),
	CONSTRAINT membership_is_one_row CHECK (one = 1)
);
CREATE TABLE met (
	path TEXT NOT NULL,
	PRIMARY KEY (path)
)
 WITHOUT ROWID

;
INSERT INTO "met" VALUES('/admin/clusters/east');
INSERT INTO "met" VALUES('/admin/clusters/north');
INSERT INTO "met" VALUES('/admin/clusters/west');
INSERT INTO "met" VALUES('/admin/policies/acme');
CREATE TABLE operations (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,
	arguments TEXT NOT NULL,
	asked_by TEXT NOT NULL,
	reason TEXT NOT NULL,
	asked_at BIGINT NOT NULL,
	state TEXT NOT NULL,
	answer TEXT NOT NULL,
	code TEXT NOT NULL,
	finished_at BIGINT
);
CREATE TABLE outbox (
	sequence INTEGER NOT NULL,
	path TEXT NOT NULL,
	enqueued_at BIGINT NOT NULL,
	head TEXT NOT NULL,
	value BLOB,
	PRIMARY KEY (sequence)
);
CREATE TABLE peers (
	region TEXT NOT NULL,
	sender TEXT NOT NULL,
	heard_at BIGINT NOT NULL,
	sent_at BIGINT NOT NULL,
	document TEXT NOT NULL,
	PRIMARY KEY (region)
);
CREATE TABLE quarantine (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	origin TEXT NOT NULL,
	position TEXT NOT NULL,
	code TEXT NOT NULL,
	detail TEXT NOT NULL,
	path TEXT,
	properties TEXT NOT NULL,
	recorded_at BIGINT NOT NULL,
	payload BLOB NOT NULL
);
CREATE TABLE registers (
	path TEXT NOT NULL,
	alive SMALLINT NOT NULL,
	due SMALLINT NOT NULL,
	unsettled SMALLINT NOT NULL,
	tenant TEXT NOT NULL,
	own BIGINT NOT NULL,
	k_time BIGINT,
	k_region TEXT,
	k_by TEXT,
	k_seen TEXT,
	k_digest BLOB,
	s_time BIGINT,
	s_region TEXT,
	s_by TEXT,
	s_seen TEXT,
	s_digest BLOB,
	s_revision TEXT,
	hold_reason TEXT,
	hold_time BIGINT,
	hold_region TEXT,
	hold_since BIGINT,
	hold_detail TEXT,
	hold_local SMALLINT,
	allowed_time BIGINT,
	allowed_region TEXT,
	parked_reason TEXT,
	parked_since BIGINT,
	parked_detail TEXT,
	intent_batch TEXT,
	intent_expected TEXT,
	intent_time BIGINT,
	intent_region TEXT,
	intent_by TEXT,
	intent_seen TEXT,
	intent_digest BLOB,
	wish TEXT,
	left_digest BLOB,
	flips TEXT,
	k_value BLOB,
	intent_value BLOB,
	PRIMARY KEY (path)
)
 WITHOUT ROWID

;
INSERT INTO "registers" VALUES('/admin/clusters/east',1,0,0,'',998204625142,998204625142,'east','east~1795374858','{"east~1795374858":998204625142}',X'474169768E672C141385A1012ADC0E16',998204625142,'east','east~1795374858','{"east~1795374858":998204625142}',X'474169768E672C141385A1012ADC0E16','1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/clusters/north',1,0,0,'',998204625142,998204625142,'east','east~1795374858','{"east~1795374858":998204625142}',X'154A8C156AB606E0969ADAC6037D2616',998204625142,'east','east~1795374858','{"east~1795374858":998204625142}',X'154A8C156AB606E0969ADAC6037D2616','2',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/clusters/west',1,0,0,'',1795374859098,1795374859098,'east','east~1795374858','{"east~1795374858":1795374859098}',X'65E2AA01DF819B3FC9ECC616FD66E8D4',1795374859098,'east','east~1795374858','{"east~1795374858":1795374859098}',X'65E2AA01DF819B3FC9ECC616FD66E8D4','7',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'67F9DBF0917FEEEC305DC52C0FB4DA2E',NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/acme',1,0,0,'acme',998204625142,998204625142,'east','east~1795374858','{"east~1795374858":998204625142}',X'4D856C00ECA5587EB5F9E8150C8D4B69',998204625142,'east','east~1795374858','{"east~1795374858":998204625142}',X'4D856C00ECA5587EB5F9E8150C8D4B69','4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE repairs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	state TEXT NOT NULL,
	document TEXT NOT NULL,
	made_at BIGINT NOT NULL,
	finished_at BIGINT
);
CREATE TABLE status (
	one INTEGER NOT NULL,
	reported_at BIGINT NOT NULL,
	document TEXT NOT NULL,
	PRIMARY KEY (one),
	CONSTRAINT status_is_one_row CHECK (one = 1)
);
INSERT INTO "status" VALUES(1,1795374858835,'{"region":"east","mode":"active","reported_at_ms":1795374858835,"database_id":"11685833b175ebb2ceb975934d1c8b28","generation":1795374858,"epoch":1,"genesis":false,"fence":1,"store_id":"39e7d5ccfd5eebf6","watch_whole":true,"watch_whole_until_ms":1795374858901,"rebuild":null,"paused":null,"pending_reads":0,"pending_writes":0,"signing":{"signs_with":null,"accepts":[]},"clusters":["east","north","west"],"conditions":[{"code":"messages-unsigned","message":"messages are not signed: whoever may publish on the topic can change the metadata of this region; give the group a key ([signing] key_files)"}],"disagreements":[],"peers":[],"tree":{"root":"00000000000000000000000000000000","alive":0},"comparisons":{},"tombstones":{"phase":null,"gathered":0,"held_up_by":[]},"snapshots":null,"tally":{}}');
CREATE TABLE tellings (
	repair INTEGER NOT NULL,
	number INTEGER NOT NULL,
	path TEXT NOT NULL,
	found_in TEXT NOT NULL,
	refused TEXT,
	head TEXT,
	value BLOB,
	PRIMARY KEY (repair, number)
);
CREATE TABLE tree (
	one INTEGER NOT NULL,
	label TEXT NOT NULL,
	number BIGINT NOT NULL,
	PRIMARY KEY (one),
	CONSTRAINT tree_is_one_row CHECK (one = 1)
);
INSERT INTO "tree" VALUES(1,'256x256/crc32/blake2b-128/1/3343eb938b97',0);
CREATE TABLE tree_log (
	number INTEGER NOT NULL,
	changes BLOB NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "tree_log" VALUES(1,X'0CD3801DD19FE7A828513B54CE6A3B102A7200000001A7905815704B8C5331EF619E9E2F89AAE8EF000000013B1B4A80F8F74359C8898ECF67B1FFD5C3D800000001');
INSERT INTO "tree_log" VALUES(2,X'3BFB4C3CEC4511DB40A14BC4D503482600A300000001');
INSERT INTO "tree_log" VALUES(3,X'3B1BA5F9CF06816033D7BDF2E2C73B0516EE00000000');
CREATE TABLE tree_pages (
	page INTEGER NOT NULL,
	sums BLOB NOT NULL,
	PRIMARY KEY (page)
);
CREATE UNIQUE INDEX conflicts_loser ON conflicts (path, loser_time, loser_region);
CREATE INDEX future_events_time ON future_events (time, region, path);
CREATE INDEX journal_path ON journal (path, id);
CREATE INDEX operations_state ON operations (state, id);
CREATE INDEX outbox_path ON outbox (path);
CREATE UNIQUE INDEX quarantine_position ON quarantine (origin, position);
CREATE INDEX registers_held ON registers (path) WHERE hold_reason IS NOT NULL;
CREATE INDEX registers_parked ON registers (path) WHERE parked_reason IS NOT NULL;
CREATE INDEX registers_unsettled ON registers (path) WHERE unsettled = 1;
CREATE INDEX registers_dead ON registers (k_time, path) WHERE unsettled = 0 AND k_digest IS NULL AND k_time IS NOT NULL;
CREATE INDEX registers_unseated ON registers (k_time) WHERE due = 1 AND k_digest IS NULL AND k_time IS NOT NULL;
CREATE INDEX repairs_state ON repairs (state, id);
CREATE INDEX journal_deletes ON journal (at) WHERE decision = 'published' AND digest IS NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('journal',5);
COMMIT;
